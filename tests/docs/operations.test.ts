import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { transactionalIdPrefix } from '../../pipelines/engine/worker/member-identity.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const source = (path: string) => readFileSync(join(ROOT, path), 'utf8')

test('the permissions for Kafka name every kind of transactional id', () => {
  const files = globSync(['{api,pipelines,tools}/**/*.ts'], { cwd: ROOT })
  const literal = files.flatMap((file) => [...source(file).matchAll(/transactionalId: `([a-z-]+)\$/g)].map(([, prefix]) => prefix))
  expect(literal).toEqual(expect.arrayContaining(['job-', 'millrace-dlq-']))
  const paragraph = source('docs/operations.md')
    .split('\n\n')
    .find((text) => text.startsWith('With access control'))
  for (const prefix of [transactionalIdPrefix('<topology>'), ...literal]) expect(paragraph).toContain(`\`${prefix}*\``)
})
