import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { blobStore } from '../../../state/blobs/blob-store.ts'
import { draftFolderOf, folderShelf } from '../../../state/blobs/folder.ts'
import { publishFiles } from '../../../state/versions/publish.ts'

/** Creates a separate blob store and folder of versions. Both are removed after the tests of the file. */
export function versionsWorld() {
  const root = mkdtempSync(join(tmpdir(), 'millrace-versions-'))
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  const blobFolder = join(root, 'blobs')
  const blobs = blobStore({ shelf: folderShelf(blobFolder), draftFolder: draftFolderOf(blobFolder), compresses: false })

  async function publish(sequence: number, files: Readonly<Record<string, Buffer | string>>) {
    const folder = join(root, `made-${sequence}`)
    mkdirSync(folder)
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return publishFiles({ version: `v${sequence}`, sequence }, { blobs, folder, names: Object.keys(files) })
  }

  return {
    blobs,
    blobFolder,
    folder: join(root, 'versions'),
    publish,
    pathOfBlob: (hash: string) => join(blobFolder, hash.slice(0, 2), `${hash}.zst`),
  }
}
