import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { groupFileStart, openGroupFile } from '../../../../api/recommendations/model/group-file.ts'

const DIMENSIONS = 4
const ITEMS = 6
const folder = mkdtempSync(join(tmpdir(), 'millrace-group-file-'))
const path = join(folder, 'items.groups')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const GROUPS = {
  groups: 2,
  starts: Uint32Array.from([0, 2, 3]),
  rows: Uint32Array.from([5, 0, 3]),
  steps: Float32Array.from([0.5, 0.25, 0]),
  centreSteps: Float32Array.from([1, 2]),
  centres: Int8Array.from([127, 0, 0, 0, 0, 127, 0, 0]),
}
const NUMBERS = Int8Array.from({ length: 3 * DIMENSIONS }, (_, at) => at - 6)

function write(changed: Partial<typeof GROUPS> = {}, numbers = NUMBERS): void {
  writeFileSync(path, Buffer.concat([...groupFileStart({ ...GROUPS, ...changed }), new Uint8Array(numbers.buffer)]))
}
const open = () => openGroupFile(path, DIMENSIONS, ITEMS)

test('groups are read as they were written', async () => {
  write()
  const { read, close, ...groups } = await open()
  const out = new Uint8Array(2 * DIMENSIONS)
  read(1, 2, out)
  close()
  expect(groups).toEqual(GROUPS)
  expect(new Int8Array(out.buffer)).toEqual(NUMBERS.slice(DIMENSIONS))
})

test('a file that has become shorter is reported, instead of the numbers of an earlier read', async () => {
  write()
  const { read, close } = await open()
  truncateSync(path, statSync(path).size - 4)
  expect(() => read(1, 2, new Uint8Array(2 * DIMENSIONS))).toThrow('ends 4 bytes too early')
  close()
})

test('a missing file is reported as such, because it can be fetched again', async () => {
  rmSync(path, { force: true })
  await expect(open()).rejects.toThrow('ENOENT')
})

test.each<[string, () => void, string]>([
  ['an empty file', () => writeFileSync(path, ''), 'does not contain groups of vectors with 4 dimensions'],
  ['another file', () => writeFileSync(path, Buffer.alloc(200, 7)), 'does not contain groups of vectors with 4 dimensions'],
  ['missing numbers', () => write({}, NUMBERS.slice(1)), 'does not contain groups of vectors with 4 dimensions'],
  ['groups in another order', () => write({ starts: Uint32Array.from([0, 5, 3]) }), 'are not in order'],
  ['groups without the last row', () => write({ starts: Uint32Array.from([0, 1, 2]) }), 'do not end with the last one'],
  ['groups without the first row', () => write({ starts: Uint32Array.from([1, 2, 3]) }), 'do not begin with the first row'],
  [
    'more rows than items',
    () => write({ starts: Uint32Array.from([0, 3, 7]), rows: new Uint32Array(7), steps: new Float32Array(7) }, new Int8Array(28)),
    'does not contain groups',
  ],
  ['a step that is not a number', () => write({ steps: Float32Array.from([1, Number.NaN, 1]) }), 'contain the step NaN'],
  ['a negative step', () => write({ steps: Float32Array.from([1, -1, 1]) }), 'contain the step -1'],
  ['an infinite step of a centre', () => write({ centreSteps: Float32Array.from([1, Infinity]) }), 'contain the step Infinity'],
  ['a repeated row', () => write({ rows: Uint32Array.from([5, 5, 3]) }), 'the row 5 in the groups of vectors is unknown or repeated'],
  ['an unknown row', () => write({ rows: Uint32Array.from([5, 0, 6]) }), 'the row 6 in the groups of vectors is unknown or repeated'],
])('%s is refused with a reason', async (_, damage, message) => {
  damage()
  await expect(open()).rejects.toThrow(expect.objectContaining({ name: 'BundleError', message: expect.stringContaining(message) }))
})
