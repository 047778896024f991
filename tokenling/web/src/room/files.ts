/* Handing a file to the owner. */

/** Bytes stay in the page's memory only as long as the browser needs to write them. A guess. */
const KEPT_MS = 60_000;

export function download(fileName: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
