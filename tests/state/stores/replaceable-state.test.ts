import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { StateCorrupted, StateLocked } from '../../../state/stores/errors.ts'
import { withReplaceableState } from '../../../state/stores/replaceable-state.ts'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import { setGeneration } from '../../../state/stores/rocksdb-folders.ts'
import type { StateBackend } from '../../../state/stores/store.ts'

const folders: string[] = []
const POSITION = 'changelog/totals-0'

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Creates a folder with a closed database at position 7, and a file that does not belong to the database. */
async function writtenFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'replaceable-state-'))
  folders.push(folder)
  await withReplaceableState({ folder }, notDeleted, write)
  await withReplaceableState({ folder }, notDeleted, async (backend) => expect(positionIn(backend)).toBe(7))
  writeFileSync(join(folder, 'identity-words.json'), '{}')
  return folder
}

async function write(backend: StateBackend): Promise<void> {
  const session = backend.session('words')
  session.putPosition(POSITION, 7)
  session.write()
}

const notDeleted = (reason: Error) => expect.unreachable(reason.message)
const positionIn = (backend: StateBackend) => backend.session('words').position(POSITION)

test('a database that cannot be opened is replaced by a new one, and other files stay', async () => {
  const folder = await writtenFolder()
  for (const name of readdirSync(folder)) if (name.startsWith('MANIFEST')) truncateSync(join(folder, name), 10)
  const reasons: Error[] = []
  const seen = await withReplaceableState(
    { folder },
    (reason) => reasons.push(reason),
    async (backend) => {
      await write(backend)
      return readdirSync(folder)
    },
  )
  expect(reasons).toEqual([expect.any(StateCorrupted)])
  expect(seen).toContain('identity-words.json')
  await withReplaceableState({ folder }, notDeleted, async (backend) => expect(positionIn(backend)).toBe(7))
})

test.each<[string, (folder: string) => void]>([
  ['its CURRENT file is missing', (folder) => rmSync(join(folder, 'generation-1', 'CURRENT'))],
  ['its folder is missing', (folder) => rmSync(join(folder, 'generation-1'), { recursive: true })],
  ['the pointer file is empty', (folder) => writeFileSync(join(folder, 'generation'), '')],
])('a rewritten database is replaced by a new one if %s', async (_what, harm) => {
  const folder = await writtenFolder()
  await withReplaceableState({ folder }, notDeleted, async (backend) => expect(await backend.scrub()).toBe(true))
  harm(folder)
  const reasons: Error[] = []
  await withReplaceableState({ folder }, (reason) => reasons.push(reason), write)
  expect(reasons).toEqual([expect.any(StateCorrupted)])
  await withReplaceableState({ folder }, notDeleted, async (backend) => expect(positionIn(backend)).toBe(7))
})

test.each<[string, (folder: string) => void]>([
  ['is no longer locked', () => {}],
  ['is already deleted', (folder) => rmSync(join(folder, 'generation-1'), { recursive: true })],
])(
  'if another process replaces a database while it is being opened, the new one is used, and no damage is reported: the old one %s',
  async (_what, leave) => {
    const folder = await writtenFolder()
    await withReplaceableState({ folder }, notDeleted, async (backend) => expect(await backend.scrub()).toBe(true))
    cpSync(join(folder, 'generation-1'), join(folder, 'generation-2'), { recursive: true })
    leave(folder)
    // The pointer file is read before the call returns, but the database is opened in the background.
    const opened = withReplaceableState({ folder }, notDeleted, async (backend) => expect(positionIn(backend)).toBe(7))
    setGeneration(folder, 'generation-2')
    await opened
    expect(readdirSync(folder).sort()).toEqual(['generation', 'generation-2', 'identity-words.json'])
  },
)

test('damage that is found during a run ends the run, and the next run starts with an empty database', async () => {
  const folder = await writtenFolder()
  const reasons: Error[] = []
  const failure = new Error('words/count failed at lines-0 offset 3', { cause: new StateCorrupted('reading store totals') })
  const run = withReplaceableState(
    { folder },
    (reason) => reasons.push(reason),
    async () => {
      throw failure
    },
  )
  await expect(run).rejects.toBe(failure)
  expect(reasons).toEqual([failure.cause])
  expect(readdirSync(folder)).toEqual(['identity-words.json'])
  await withReplaceableState({ folder }, notDeleted, async (backend) => expect(positionIn(backend)).toBeUndefined())
})

test('if the brokers are unreachable or the database is locked, the error is passed on and the database stays unchanged', async () => {
  const folder = await writtenFolder()
  const failure = async () => {
    throw new Error('brokers are unreachable')
  }
  await expect(withReplaceableState({ folder }, notDeleted, failure)).rejects.toThrow('brokers are unreachable')
  const other = await openRocksdbBackend({ folder })
  await expect(withReplaceableState({ folder }, notDeleted, write)).rejects.toThrow(StateLocked)
  expect(positionIn(other)).toBe(7)
  await other.close()
})
