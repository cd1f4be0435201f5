/** A program that a benchmark compares with cannot run on this machine. The message gives the reason and the cure. */
export class PeerMissingError extends Error {
  override readonly name = 'PeerMissingError'
}

/** What `open` opens; undefined, after one line that says why, where the peer cannot run. The benchmark goes on with the rest. */
export async function whereInstalled<T>(peer: string, open: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof PeerMissingError)) throw error
    process.stdout.write(`${peer} is left out: ${error.message}\n`)
    return undefined
  }
}
