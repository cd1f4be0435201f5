import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stepsOf, withLines } from './page.ts'

test('code blocks that name a file are read as whole files or as lines for a list, and other blocks are ignored', () => {
  const page = 'a\n```ts a/b.ts\nfirst\n\nsecond\n```\n```sh\nnpm test\n```\n```diff list.ts\n+import x\n+  x,\n```\n'
  expect(stepsOf(page)).toEqual([
    { kind: 'file', path: 'a/b.ts', text: 'first\n\nsecond\n' },
    { kind: 'lines', path: 'list.ts', added: ['import x', '  x,'] },
  ])
  expect(() => stepsOf('```diff list.ts\n-gone\n```\n')).toThrow(
    'list.ts: each line of a diff block must begin with "+", but one is "-gone"',
  )
})

test('imports are added at the top, and entries at the end of the list', () => {
  expect(withLines("import a from 'a'\n\nexport const list = [\n  a,\n]\n", ["import b from 'b'", '  b,'])).toBe(
    "import b from 'b'\nimport a from 'a'\n\nexport const list = [\n  a,\n  b,\n]\n",
  )
})

test('adding a service takes one import and one entry in each list, and one new folder in each area', () => {
  const steps = stepsOf(readFileSync(join(import.meta.dirname, '../../docs/add-a-service.md'), 'utf8'))
  const lists = steps.filter((step) => step.kind === 'lines')
  expect(lists.map(({ path }) => path)).toEqual(['schemas/topics.ts', 'pipelines/services.ts', 'api/services.ts', 'tools/demo/services.ts'])
  for (const { added } of lists) expect(added.map((line) => line.startsWith('import '))).toEqual([true, false])
  const folders = steps.filter((step) => step.kind === 'file').map(({ path }) => path.slice(0, path.lastIndexOf('/')))
  const rooms = ['schemas', 'state/views', 'state/tables', 'pipelines', 'api', 'tools/demo']
  expect([...new Set(folders)]).toEqual(rooms.map((room) => `${room}/votes`))
})
