/** Thrown when a peer cannot run on this machine. The message contains the reason, and a remedy if one is known. */
export class PeerMissingError extends Error {
  override readonly name = 'PeerMissingError'
}

/**
 * Returns the result of `open`. If the peer cannot run, prints the reason in one line and returns undefined, so that
 * the benchmark continues without the peer.
 */
export async function whereInstalled<T>(peer: string, open: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof PeerMissingError)) throw error
    process.stdout.write(`skipping ${peer}: ${error.message}\n`)
    return undefined
  }
}
