import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { partialPath, removeAbandoned } from '../../../../deploy/local/java/partial-folders.ts'

const DAY_MS = 24 * 3_600_000

test('only unfinished folders of the same program are removed, and only after a day', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'millrace-partial-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  const target = join(parent, 'kafka-0123456789ab')
  const names = [`${partialPath(target)}4711`, `${join(parent, 'kafka-ba9876543210.partial-4712')}`]
  const others = ['kafka-0123456789ab', 'opensearch-0123456789ab.partial-4713', 'other']
  for (const path of [...names, ...others.map((name) => join(parent, name))]) {
    mkdirSync(path)
    writeFileSync(join(path, 'file'), '')
  }
  const now = Date.now()
  await removeAbandoned(target, now)
  expect(readdirSync(parent)).toHaveLength(5)
  await removeAbandoned(target, now + DAY_MS + 60_000)
  expect(readdirSync(parent).toSorted()).toEqual(others.toSorted())
})

test('a missing parent folder is not an error', async () => {
  await expect(removeAbandoned(join(tmpdir(), 'millrace-no-such-folder', 'kafka-1'))).resolves.toBeUndefined()
})
