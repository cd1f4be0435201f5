import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fileDigest } from '../../../state/versions/file-digest.ts'

test.each([0, 1, 2 ** 20, 3 * 2 ** 20 + 17])('a file of %i bytes has the digest of its whole content', async (bytes) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-digest-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const content = Buffer.from(Uint8Array.from({ length: bytes }, (_, at) => (at * 31) >> 3))
  writeFileSync(join(folder, 'file'), content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  await expect(fileDigest(join(folder, 'file'))).resolves.toEqual({ bytes, sha256 })
})

test('computing the digest of a missing file fails', async () => {
  await expect(fileDigest(join(tmpdir(), 'millrace-no-such-file'))).rejects.toThrow('ENOENT')
})
