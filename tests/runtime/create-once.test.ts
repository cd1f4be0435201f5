import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createOnce } from '../../runtime/create-once.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-secret-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('a private file is created only once, and no draft is left behind', () => {
  const parent = folder()
  const path = join(parent, 'secret')
  expect([createOnce(path, () => 'one'), createOnce(path, () => 'two')]).toEqual(['one', 'one'])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(parent)).toEqual(['secret'])
})

test('an empty secret file is refused, because anyone could guess an empty secret', () => {
  const path = join(folder(), 'secret')
  writeFileSync(path, '')
  expect(() => createOnce(path, () => 'new')).toThrow(/secret contains no secret: restore it from a backup/)
})
