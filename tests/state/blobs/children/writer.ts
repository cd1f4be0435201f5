import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { connectBlobs } from '../../../../state/blobs/connect.ts'

/** Keeps one blob after the other in the folder given, and tells the hash of each that is kept, until it is killed. */
const blobs = await connectBlobs({ url: pathToFileURL(process.argv[2]).href, s3Endpoint: undefined })
for (let round = 0; ; round++) {
  const draft = blobs.draft()
  // Below and above what is held in memory.
  for (let piece = 0; piece <= round % 4; piece++) await draft.write(randomBytes(40_000))
  const { hash } = await blobs.keep(draft)
  process.stdout.write(`${hash}\n`)
}
