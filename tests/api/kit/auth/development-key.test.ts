import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { developmentKeyPaths, ensureDevelopmentKey } from '../../../../api/kit/auth/development-key.ts'
import { keySetFor } from '../../../../api/kit/auth/key-source.ts'
import { tokenVerifier } from '../../../../api/kit/auth/verify.ts'

const run = promisify(execFile)
const COMMAND = join(import.meta.dirname, '../../../../tools/token/main.ts')

async function home(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-auth-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

test('concurrent calls create one key, and only its owner can read it', async () => {
  const folder = await home()
  const keys = await Promise.all(Array.from({ length: 8 }, () => ensureDevelopmentKey(folder)))
  expect(new Set(keys.map((key) => key.kid)).size).toBe(1)
  const { key, jwks } = developmentKeyPaths(folder)
  expect((await stat(key)).mode & 0o777).toBe(0o600)
  const published = JSON.parse(await readFile(jwks, 'utf8'))
  expect(published.keys).toHaveLength(1)
  expect(published.keys[0]).toMatchObject({ kid: keys[0].kid, alg: 'ES256', use: 'sig' })
  expect(published.keys[0]).not.toHaveProperty('d')
})

test('the token command makes a token that the API accepts', async () => {
  const folder = await home()
  const env = { ...process.env, MILLRACE_HOME: folder, NODE_ENV: 'development' }
  const { stdout } = await run(process.execPath, [COMMAND, '--sub', '42', '--scope', 'admin internal', '--name', 'alice'], { env })
  const auth = { issuer: 'millrace', audience: 'millrace', keys: { kind: 'development', home: folder } } as const
  const keys = await keySetFor(auth, Date.now)
  const caller = await tokenVerifier({ keys, issuer: 'millrace', audience: 'millrace', now: Date.now }).verify(stdout.trim())
  expect(caller).toEqual({ kind: 'token', subject: '42', scopes: new Set(['admin', 'internal']), username: 'alice' })
})

test.each([
  [['--sub', '42'], { NODE_ENV: 'production' }, /NODE_ENV is production/],
  [[], {}, /--sub is missing/],
  [['--sub', '1', '--hours', 'x'], {}, /--hours/],
  [['--sub', '1', '--what'], {}, /--what/],
])('the token command refuses the arguments %j with the settings %j and gives the reason', async (args, extra, reason) => {
  const env = { ...process.env, MILLRACE_HOME: await home(), NODE_ENV: 'development', ...extra }
  await expect(run(process.execPath, [COMMAND, ...args], { env })).rejects.toThrow(reason)
})
