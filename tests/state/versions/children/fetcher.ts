import { pathToFileURL } from 'node:url'
import { connectBlobs } from '../../../../state/blobs/connect.ts'
import { localVersions } from '../../../../state/versions/local.ts'

/** Fetches a version. When it has the first piece of the second file, it reports this and waits to be killed. */
const [blobFolder, folder, version] = process.argv.slice(2)
const blobs = await connectBlobs({ url: pathToFileURL(blobFolder).href, s3Endpoint: undefined })
let opened = 0
const halting: typeof blobs.open = async (hash) => {
  const blob = await blobs.open(hash)
  if (blob === undefined || ++opened < 2) return blob
  return {
    close: () => blob.close(),
    async *content() {
      for await (const piece of blob.content()) {
        yield piece
        process.stdout.write('halfway\n')
        await new Promise((resolve) => setTimeout(resolve, 600_000))
      }
    },
  }
}
await localVersions({ blobs: { open: halting }, folder, now: Date.now }).fetch(JSON.parse(version))
