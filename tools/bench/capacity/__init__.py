"""How many pets a host carries: a population, its owners, a real host under them, and the bare brain beside it.

python -m tools.bench.capacity --pets 1000      one window of traffic
python -m tools.bench.capacity --search         the largest number of pets that keeps the promises
python -m tools.bench.capacity.registered       many pets, nearly all parked: memory and start-up
"""
