import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureKafkaJars } from '../../../../deploy/local/kafka/jars.ts'

const path = process.env.PATH
let folder: string
let tools: string
let pins: string

const sha256 = (content: string) => createHash('sha256').update(content).digest('hex')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-jars-'))
  tools = join(folder, 'tools')
  pins = join(folder, 'jars.sha256')
  writeFileSync(pins, `${sha256('content')}  broker.jar\n`)
})
afterEach(() => {
  process.env.PATH = path
  rmSync(folder, { recursive: true, force: true })
})

/** Installs a fake Maven that runs the given script. `$OUT` is the folder for the jars. */
function maven(script: string): void {
  writeFileSync(
    join(folder, 'mvn'),
    `#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) OUT="\${a#-DoutputDirectory=}";; esac; done\n${script}\n`,
  )
  chmodSync(join(folder, 'mvn'), 0o755)
  process.env.PATH = `${folder}:/usr/bin:/bin`
}

const DOWNLOADS = `echo call >> ${'$'}(dirname "$0")/calls; printf content > "$OUT/broker.jar"`
const calls = () => readFileSync(join(folder, 'calls'), 'utf8').split('\n').length - 1

test('the jars are downloaded once, and again only if one of them is damaged', async () => {
  maven(DOWNLOADS)
  const jars = await ensureKafkaJars(tools, pins)
  expect(readdirSync(jars).sort()).toEqual(['broker.jar', 'manifest.json'])
  expect(await ensureKafkaJars(tools, pins)).toBe(jars)
  expect(calls()).toBe(1)
  writeFileSync(join(jars, 'broker.jar'), 'cut')
  expect(await ensureKafkaJars(tools, pins)).toBe(jars)
  expect(readFileSync(join(jars, 'broker.jar'), 'utf8')).toBe('content')
  expect(calls()).toBe(2)
})

test("a failed download is reported with Maven's reason, and leaves no files", async () => {
  maven('printf half > "$OUT/broker.jar"; echo "[ERROR] Could not transfer artifact x: Connection refused"; exit 1')
  await expect(ensureKafkaJars(tools, pins)).rejects.toThrow(
    'the Kafka broker could not be downloaded from Maven Central: Could not transfer artifact x: Connection refused. Check the network and start again',
  )
  expect(readdirSync(tools)).toEqual([])
  maven(DOWNLOADS)
  expect(readdirSync(await ensureKafkaJars(tools, pins))).toContain('broker.jar')
})

test.each([
  ['a jar with other content', 'printf forged > "$OUT/broker.jar"', /broker.jar does not have the hash/],
  ['a jar that is not pinned', 'printf content > "$OUT/broker.jar"; printf x > "$OUT/other.jar"', /other.jar does not have the hash/],
  ['a download without the jar', 'true', /broker.jar is missing/],
])('%s is refused, and no file is kept', async (_what, script, message) => {
  maven(script)
  await expect(ensureKafkaJars(tools, pins)).rejects.toThrow(message)
  expect(readdirSync(tools)).toEqual([])
})

test('the error about a missing Maven names the package that contains it', async () => {
  process.env.PATH = folder
  await expect(ensureKafkaJars(tools, pins)).rejects.toThrow('Maven is missing (it fetches the Kafka broker): apt-get install maven')
})
