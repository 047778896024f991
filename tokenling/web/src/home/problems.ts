/* The one error tree of this room. `code` is stable and for programs, `fields` names what was wrong; a message never
   holds what a pet or an owner said, nor a key. */

import type { HomeProblemShape, JsonObject } from "../contract.ts";

/** A refusal or a failure on the way to a pet's home. Unless `lost`, nothing has changed and a repeat changes nothing.
 */
export class HomeProblem extends Error implements HomeProblemShape {
  override name = "HomeProblem";

  constructor(
    readonly code: string,
    readonly fields: JsonObject = {},
  ) {
    super(code);
  }

  /** Whether nobody knows if it happened; the same operation id may be repeated. */
  get lost(): boolean {
    return false;
  }
}

/** The host's final word: a definite answer that is no success. */
export class HostRefusal extends HomeProblem {
  override name = "HostRefusal";

  constructor(
    code: string,
    readonly status: number,
    fields: JsonObject = {},
  ) {
    super(code, fields);
  }
}

/** No definite answer: none at all, one that broke off, or 408, 429, 5xx. */
export class HostSilent extends HomeProblem {
  override name = "HostSilent";

  constructor(
    code: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(code);
  }

  override get lost(): boolean {
    return true;
  }
}

/** A newer app has written here. Nothing was read further and nothing was changed. */
export class RecordsTooNew extends HomeProblem {
  override name = "RecordsTooNew";

  constructor(record: string, found: unknown) {
    super("records_too_new", { record, found: typeof found === "number" ? found : null });
  }
}

/** A record that no version of the app writes: told, never overwritten. */
export class RecordsBroken extends HomeProblem {
  override name = "RecordsBroken";

  constructor(record: string, path: string) {
    super("records_broken", { record, path });
  }
}

/** The execution that wanted to commit has ended: the pet moved, or another tab runs it. Its work is dropped. */
export class StaleExecution extends HomeProblem {
  override name = "StaleExecution";

  constructor(why: "moved" | "not_here" | "revision") {
    super("stale_execution", { why });
  }
}

/** A text that is no `tokenling-card 1`. */
export class CardRefused extends HomeProblem {
  override name = "CardRefused";

  constructor(
    code: "card_format" | "card_word" | "card_checksum" | "card_version" | "card_host",
    fields: JsonObject = {},
  ) {
    super(code, fields);
  }
}

/** A file that is no pet. `code`: `file_size`, `file_json`, `file_shape`, or the engine's with its `path`. */
export class FileRefused extends HomeProblem {
  override name = "FileRefused";
}
