import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { connectBlobs } from '../../../../state/blobs/connect.ts'

/** Stores a long blob in the given folder, and prints the code of the error if that fails. */
const blobs = await connectBlobs({ url: pathToFileURL(process.argv[2]).href, s3Endpoint: undefined })
const draft = blobs.draft()
try {
  await draft.write(randomBytes(1_000_000))
  await blobs.keep(draft)
} catch (error) {
  process.stdout.write(String((error as NodeJS.ErrnoException).code))
} finally {
  await draft.discard()
}
