import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { connectBlobs } from '../../../../state/blobs/connect.ts'

/** Until it is killed, stores one blob after another in the given folder, and prints the hash of each. */
const blobs = await connectBlobs({ url: pathToFileURL(process.argv[2]).href, s3Endpoint: undefined })
for (let round = 0; ; round++) {
  const draft = blobs.draft()
  // Some blobs are smaller than the memory buffer, and others are larger.
  for (let piece = 0; piece <= round % 4; piece++) await draft.write(randomBytes(40_000))
  const { hash } = await blobs.keep(draft)
  process.stdout.write(`${hash}\n`)
}
