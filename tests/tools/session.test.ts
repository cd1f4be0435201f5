import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const SCRIPT = `
const { runStreamCommand } = await import(process.argv[1])
await runStreamCommand(({ produce }) => produce(async () => ({ close: async () => {} }), async () => {}))
`

test('the message about unreachable servers does not contain the passwords of the schema registry', async () => {
  const home = mkdtempSync(join(tmpdir(), 'millrace-tools-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const session = join(import.meta.dirname, '../../tools/session.ts')
  const env = {
    ...process.env,
    MILLRACE_HOME: home,
    KAFKA_BROKERS: '127.0.0.1:9',
    SCHEMA_REGISTRY_URL: 'http://name:hidden@127.0.0.1:9,http://name:h@hidden@localhost:9',
  }
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', SCRIPT, session], { env }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
  expect(output).toContain('the schema registry at http://…@127.0.0.1:9,http://…@localhost:9 cannot be reached')
  expect(output).not.toContain('hidden')
}, 30_000)
