/* The pairing card: shown on demand as a code and as words, and taken in by camera, by typing or by pasting. */

import qrcode from "qrcode-generator";
import type { CardFacts, PairingCard } from "../../contract.ts";
import { html, svg } from "../dom.ts";
import { icon } from "../icons.ts";
import { problemText, say } from "../strings.ts";
import { hostProblemText } from "../unheard.ts";
import { openSheet } from "./sheet.ts";

/** Modules of white around a code: the standard's quiet zone. */
const QUIET = 4;
/** Pixels that are looked at in a camera's picture: enough for a code across half of it. A guess. */
const SCAN_WIDTH_PX = 640;
const SCAN_EVERY_MS = 180;

export async function showCard(name: string, card: PairingCard, host: string): Promise<void> {
  const sheet = openSheet(say("card.heading", { name }), { wide: true });
  const words = card.words.map((word) => html("li", {}, word));
  const copied = html("span", { class: "small soft", role: "status" });
  const copy = () =>
    navigator.clipboard?.writeText(card.words.join(" ")).then(
      () => (copied.textContent = say("card.copied")),
      () => (copied.textContent = say("card.copy.failed")),
    );
  sheet.show(
    html("p", {}, say("card.text", { name, host })),
    isOfThisMachine(host) ? html("p", { class: "alert" }, say("card.loopback", { name })) : "",
    html("div", { class: "qr" }, drawCode(card.text, say("card.code", { name }))),
    html("p", {}, say("card.words")),
    html("ol", { class: "card-words" }, ...words),
    html(
      "div",
      { class: "row" },
      html("button", { type: "button", onclick: copy }, say("card.copy")),
      html("button", { type: "button", onclick: () => print() }, say("card.print")),
      copied,
    ),
    html("p", { class: "small soft" }, say("card.secret", { name })),
  );
  await sheet.closed;
}

/** Whether the host's address means "this very computer" wherever it is read. */
export function isOfThisMachine(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host);
}

/** The code as one path of squares: drawn, never an image from elsewhere. */
export function drawCode(text: string, label: string): SVGSVGElement {
  const code = qrcode(0, "M");
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  let d = "";
  for (let row = 0; row < count; row += 1)
    for (let column = 0; column < count; column += 1) if (code.isDark(row, column)) d += `M${column + QUIET} ${row + QUIET}h1v1h-1z`;
  const side = count + 2 * QUIET;
  return svg(
    "svg",
    { viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": label, "shape-rendering": "crispEdges" },
    svg("rect", { class: "qr-ground", width: side, height: side }),
    svg("path", { class: "qr-dark", d }),
  );
}

export interface CardTaking {
  read(text: string): Promise<CardFacts>;
  join(text: string): Promise<string>;
}

/** Takes in a card: shows the host first, joins only then. Resolves with the pet's local id, or null. */
export async function takeCard(taking: CardTaking): Promise<string | null> {
  let joined: string | null = null;
  const sheet = openSheet(say("card.take.heading"));
  const alert = html("p", { class: "alert", role: "alert", hidden: true });
  const box = html("textarea", { id: "card-text", rows: 4, autocomplete: "off", autocapitalize: "none", spellcheck: "false" });
  const camera = makeCamera((text) => void look(text));
  const tell = (text: string | null) => {
    alert.hidden = text === null;
    alert.textContent = text ?? "";
  };

  async function look(text: string): Promise<void> {
    try {
      const facts = await taking.read(text);
      camera.stop();
      showFacts(text, facts);
    } catch (problem) {
      tell(problemText(problem));
    }
  }

  function showFacts(text: string, { host, known }: CardFacts): void {
    const join = html(
      "button",
      { type: "button", class: "main", onclick: () => void joinNow() },
      say(known ? "card.known.go" : "card.join"),
    );
    async function joinNow(): Promise<void> {
      join.disabled = true;
      tell(null);
      try {
        joined = await taking.join(text);
        sheet.close();
      } catch (problem) {
        join.disabled = false;
        tell(hostProblemText(problem, host, location.origin));
      }
    }
    sheet.show(
      alert,
      html("p", {}, say("card.host")),
      html("p", { class: "host" }, host),
      html("p", {}, say(known ? "card.known" : "card.join.text")),
      html("div", { class: "row end" }, html("button", { type: "button", onclick: () => sheet.close() }, say("sheet.cancel")), join),
    );
    tell(null);
    join.focus();
  }

  const submit = (event: Event) => {
    event.preventDefault();
    if (box.value.trim()) void look(box.value.trim());
  };
  sheet.show(
    html("p", {}, say("card.take.text")),
    alert,
    camera.element,
    html(
      "form",
      { class: "field", onsubmit: submit },
      html("label", { for: "card-text" }, say("card.take.words")),
      box,
      html("div", { class: "row end" }, html("button", { type: "submit", class: "main" }, say("card.take.go"))),
    ),
  );
  await sheet.closed;
  camera.stop();
  return joined;
}

/** A camera, where there is one and its owner allows it; otherwise words and pasting remain. */
function makeCamera(found: (text: string) => void) {
  const video = html("video", { class: "camera", playsinline: true, muted: true, hidden: true, "aria-label": say("card.camera.view") });
  const note = html("p", { class: "small soft", role: "status" });
  const button = html("button", { type: "button", onclick: () => void start() }, icon("camera"), say("card.camera"));
  const element = html("div", { class: "camera-box" }, video, html("div", { class: "row" }, button), note);
  let stream: MediaStream | null = null;
  let timer = 0;
  let last = "";
  element.hidden = !navigator.mediaDevices?.getUserMedia;

  async function start(): Promise<void> {
    let readCode: ReadCode;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
      // most owners never scan: what reads a code comes when a camera is there
      readCode = (await import("jsqr")).default;
    } catch {
      stop();
      note.textContent = say("card.camera.none");
      return;
    }
    video.srcObject = stream;
    video.hidden = false;
    button.hidden = true;
    await video.play().catch(() => undefined);
    const canvas = document.createElement("canvas");
    timer = window.setInterval(() => {
      const text = codeIn(video, canvas, readCode);
      if (text && text !== last) found((last = text));
    }, SCAN_EVERY_MS);
  }

  function stop(): void {
    clearInterval(timer);
    stream?.getTracks().forEach((track) => track.stop());
    stream = null;
    video.hidden = true;
    button.hidden = false;
  }
  return { element, stop };
}

type ReadCode = (data: Uint8ClampedArray, width: number, height: number) => { data: string } | null;

function codeIn(video: HTMLVideoElement, canvas: HTMLCanvasElement, readCode: ReadCode): string | null {
  if (video.readyState < video.HAVE_CURRENT_DATA || !video.videoWidth) return null;
  canvas.width = Math.min(SCAN_WIDTH_PX, video.videoWidth);
  canvas.height = Math.round((canvas.width / video.videoWidth) * video.videoHeight);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) return null;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  const { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
  return readCode(data, width, height)?.data ?? null;
}
