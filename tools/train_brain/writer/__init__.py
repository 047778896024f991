"""What owners say and what a kind pet would answer: our own words, by what was meant and how the body feels."""
