import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { pageFiles } from '../../../../api/kit/page/files.ts'

test('if a file could not be read, the next request tries again, and the content is then cached', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'page-files-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = pageFiles({ folder: pathToFileURL(`${folder}/`), files: ['style.css'] })
  await expect(files.file('style.css')).rejects.toThrow(/ENOENT/)
  await writeFile(join(folder, 'style.css'), 'a{}')
  const read = await files.file('style.css')
  expect(read.body).toEqual(Buffer.from('a{}'))
  await writeFile(join(folder, 'style.css'), 'b{}')
  expect(await files.file('style.css')).toBe(read)
})

test('a file that is not in the list is not opened', async () => {
  const files = pageFiles({ folder: new URL('./', import.meta.url), files: [] })
  await expect(files.file('files.test.ts')).rejects.toMatchObject({ definition: { code: 'not_found' } })
})
