/**
 * Runs work, and counts the turns of the event loop until it ends. Work that pauses leaves turns to other work, such as
 * requests.
 */
export async function turnsDuring<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0
  function turn(): void {
    turns++
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  try {
    const result = await work()
    return { result, turns }
  } finally {
    clearImmediate(next)
  }
}
