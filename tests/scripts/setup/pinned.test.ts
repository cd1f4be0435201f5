import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const PINNED = new URL('../../../scripts/setup/pinned.mjs', import.meta.url).href
const VERSION = '1.2.3'

/**
 * Installs packages with a fake npm that writes tarballs and records its calls.
 * @param expected the contents whose hashes are pinned, by package name
 * @param served the contents of the tarballs, by package name
 * @param meanwhile a shell command that npm runs at the end of the installation, in the folder of the tools
 */
function install(expected: Readonly<Record<string, string>>, served: Readonly<Record<string, string>>, meanwhile = ':') {
  const root = mkdtempSync(join(tmpdir(), 'millrace-pinned-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const npm = join(root, 'npm')
  const writes = Object.entries(served).map(([name, content]) => `printf '${content}' > ${name}-${VERSION}.tgz`)
  const calls = join(root, 'calls')
  writeFileSync(
    npm,
    `#!/bin/sh\necho "$@" >> ${calls}\ncase $1 in\npack) ${writes.join('; ')};;\ninstall) mkdir node_modules; ls > node_modules/seen; cd ..; ${meanwhile};;\nesac\n`,
  )
  chmodSync(npm, 0o755)
  const packages = Object.entries(expected).map(([name, content]) => ({
    name,
    version: VERSION,
    integrity: `sha512-${createHash('sha512').update(content).digest('base64')}`,
  }))
  const tools = join(root, 'tools')
  const script = `
    import { existsSync } from 'node:fs'
    import { installPinned } from ${JSON.stringify(PINNED)}
    const [packages, npm, folder] = JSON.parse(process.argv[1])
    const isUsable = () => existsSync(folder + '/node_modules')
    await installPinned(packages, [npm], folder, isUsable).catch((error) => process.stdout.write(error.constructor.name + ': ' + error.message))`
  const input = JSON.stringify([packages, npm, join(tools, 'node-24')])
  const env = { PATH: process.env.PATH, MILLRACE_HOME: join(root, 'home') }
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script, input], { env, encoding: 'utf8' })
  expect(stderr).toBe('')
  return { message: stdout, tools, calls: readFileSync(calls, 'utf8').trim().split('\n') }
}

test('packages with the pinned hashes are installed from exactly the tarballs that were verified', () => {
  const contents = { node: 'a binary', npm: 'a script' }
  const { message, tools, calls } = install(contents, contents)
  expect(message).toBe('')
  expect(readdirSync(tools)).toEqual(['node-24'])
  expect(readdirSync(join(tools, 'node-24'))).toEqual(['node_modules', 'package.json'])
  expect(calls).toEqual([
    expect.stringMatching(/^pack node@1\.2\.3 npm@1\.2\.3 /),
    expect.stringMatching(/^install --no-save --ignore-scripts --offline \.\/node-1\.2\.3\.tgz \.\/npm-1\.2\.3\.tgz /),
  ])
})

test('a package with a different hash causes a one-line error, and nothing is installed', () => {
  const { message, tools, calls } = install({ node: 'a binary', npm: 'a script' }, { node: 'a binary', npm: 'forged' })
  expect(message).toBe(
    'Failure: npm@1.2.3 from the registry does not have the hash in scripts/setup/node.mjs; nothing was installed. ' +
      'Use a registry that you trust and try again',
  )
  expect(calls).toEqual([expect.stringMatching(/^pack /)])
  expect(readdirSync(tools)).toEqual([])
})

test('packages that another command has installed meanwhile are kept, because that command may be running them', () => {
  const contents = { node: 'a binary', npm: 'a script' }
  const { message, tools } = install(contents, contents, 'mkdir -p node-24/node_modules; touch node-24/node_modules/other')
  expect(message).toBe('')
  expect(readdirSync(tools)).toEqual(['node-24'])
  expect(readdirSync(join(tools, 'node-24', 'node_modules'))).toEqual(['other'])
})

test('an incomplete folder is replaced', () => {
  const contents = { node: 'a binary', npm: 'a script' }
  const { message, tools } = install(contents, contents, 'mkdir node-24; touch node-24/rest')
  expect(message).toBe('')
  expect(readdirSync(tools)).toEqual(['node-24'])
  expect(readdirSync(join(tools, 'node-24'))).toEqual(['node_modules', 'package.json'])
})
