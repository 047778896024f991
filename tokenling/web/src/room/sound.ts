/* Small sounds, made here: a few oscillators, no files. Off until the owner switches them on; never while it is quiet. */

export type SoundName = "chirp" | "munch" | "splash" | "purr" | "click" | "chime" | "low" | "soft" | "song" | "pop";

interface Note {
  /** Seconds from now, hertz at both ends, seconds long, loudness. */
  at: number;
  from: number;
  to: number;
  long: number;
  gain: number;
  wave?: OscillatorType;
}

const note = (at: number, from: number, to: number, long: number, gain = 0.12, wave: OscillatorType = "sine"): Note => ({
  at,
  from,
  to,
  long,
  gain,
  wave,
});

const SOUNDS: Record<SoundName, readonly Note[]> = {
  chirp: [note(0, 880, 1180, 0.09), note(0.1, 1040, 1320, 0.11)],
  munch: [
    note(0, 240, 150, 0.07, 0.1, "triangle"),
    note(0.16, 230, 140, 0.07, 0.1, "triangle"),
    note(0.34, 220, 130, 0.08, 0.09, "triangle"),
  ],
  splash: [note(0, 700, 1500, 0.08, 0.06), note(0.08, 900, 1900, 0.08, 0.06), note(0.18, 650, 1300, 0.1, 0.05)],
  purr: Array.from({ length: 7 }, (_, index) => note(index * 0.075, 112, 96, 0.06, 0.09, "triangle")),
  click: [note(0, 1500, 900, 0.025, 0.08, "square")],
  chime: [note(0, 659, 659, 0.22, 0.09), note(0.12, 784, 784, 0.22, 0.09), note(0.24, 1047, 1047, 0.42, 0.1)],
  low: [note(0, 392, 349, 0.16, 0.08), note(0.16, 330, 294, 0.22, 0.08)],
  soft: [note(0, 523, 523, 0.24, 0.05), note(0.1, 659, 659, 0.3, 0.04)],
  song: [note(0, 587, 587, 0.2, 0.07), note(0.22, 740, 740, 0.2, 0.07), note(0.44, 880, 880, 0.2, 0.07), note(0.66, 740, 740, 0.34, 0.07)],
  pop: [note(0, 420, 760, 0.05, 0.07)],
};

export class Sounds {
  #context: AudioContext | null = null;
  enabled = false;

  play(name: SoundName): void {
    if (!this.enabled || typeof AudioContext === "undefined") return;
    // made late: browsers let a page sound only after its owner has touched it
    this.#context ??= new AudioContext();
    const context = this.#context;
    if (context.state === "suspended") void context.resume();
    for (const one of SOUNDS[name]) this.#sound(context, one);
  }

  #sound(context: AudioContext, { at, from, to, long, gain, wave = "sine" }: Note): void {
    const start = context.currentTime + at;
    const oscillator = context.createOscillator();
    const loudness = context.createGain();
    oscillator.type = wave;
    oscillator.frequency.setValueAtTime(from, start);
    oscillator.frequency.linearRampToValueAtTime(to, start + long);
    loudness.gain.setValueAtTime(0, start);
    loudness.gain.linearRampToValueAtTime(gain, start + 0.012);
    loudness.gain.exponentialRampToValueAtTime(0.0008, start + long);
    oscillator.connect(loudness).connect(context.destination);
    oscillator.start(start);
    oscillator.stop(start + long + 0.02);
  }
}
