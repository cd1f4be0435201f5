interface Task {
  /** A short description for the list of commands. */
  readonly does: string
  /** Path relative to the repository's root. */
  readonly file: string
  readonly programs?: readonly string[]
}

export const TASKS: Readonly<Record<string, Task>>
