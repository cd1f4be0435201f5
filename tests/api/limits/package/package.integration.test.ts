import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPackage } from '../../../../api/limits/package/pack.ts'
import { testStack } from '../../../stack/index.ts'
import { installedPackages } from './installed-packages.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const NAME = 'millrace-rate-limits'
/**
 * The app's own dependencies: the peer dependencies of the package, and the Node types that their declarations need.
 */
const OF_THE_APP = ['ioredis', 'hono', '@types/node']
const OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noEmit: true,
  // Also type-checks the declarations of the package.
  skipLibCheck: false,
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'))
const app = join(folder, 'app')

/**
 * @returns the output of the command
 * @throws Error with the output if the command fails
 */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: app, encoding: 'utf8', env: { ...process.env, ...env } })
  expect({ command: [command, ...args].join(' '), status, output: status === 0 ? '' : stdout + stderr }).toMatchObject({ status: 0 })
  return stdout
}

beforeAll(() => {
  const tarball = buildPackage(join(folder, 'package'))
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, files: ['example.ts'] }))
  const flags = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund']
  run('npm', ['install', ...flags, tarball, ...installedPackages(OF_THE_APP)])
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the packed package contains only its own code, and depends on one package apart from its peers', () => {
  const installed = join(app, 'node_modules', NAME)
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect([Object.keys(dependencies), Object.keys(peerDependencies)]).toEqual([['cluster-key-slot'], ['hono', 'ioredis']])
  const files = run('find', [installed, '-type', 'f']).trim().split('\n')
  expect(
    files
      .filter((file) => !/\.(js|d\.ts)$/.test(file))
      .map((file) => file.slice(installed.length + 1))
      .sort(),
  ).toEqual(['LICENSE', 'README.md', 'package.json'])
  const imports = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/\bfrom '([^.'][^']*)'/g)].map(([, from]) => from))
  const allowed = ['cluster-key-slot', 'hono', 'ioredis', NAME, 'node:crypto', 'node:net']
  expect([...new Set(imports)].sort()).toEqual(allowed)
})

test('the example in the README of the packed package type-checks and limits requests on a real Redis', async () => {
  const readme = readFileSync(join(app, 'node_modules', NAME, 'README.md'), 'utf8')
  const examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)
  expect(examples).toEqual([expect.stringContaining(`from '${NAME}'`)])
  writeFileSync(join(app, 'example.ts'), examples[0])
  run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['--project', app])
  // Repeats the request until it is refused. Until Redis is connected, the process decides with its own counts.
  const client = `
    import { setTimeout } from 'node:timers/promises'
    import app, { limits, redis } from './example.ts'
    const statuses = new Set()
    const until = Date.now() + 30_000
    let answer
    do {
      answer = await app.request('/api/search')
      statuses.add(answer.status)
      await setTimeout(1)
    } while (answer.status !== 429 && Date.now() < until)
    const other = await app.request('/api/other')
    console.log(JSON.stringify([[...statuses], await answer.json(), other.headers.get('ratelimit-policy')]))
    await limits.close()
    redis.disconnect()
  `
  writeFileSync(join(app, 'client.mjs'), client)
  const printed = run(process.execPath, ['client.mjs'], { REDIS_URL: await testStack().redis() })
  const [statuses, refusal, policy] = JSON.parse(printed)
  expect(statuses).toEqual([200, 429])
  expect(refusal).toMatchObject({ error: 'rate_limit_exceeded', limit: 100, window: '60s' })
  expect(policy).toBe('"all";q=1000;w=60')
})
