import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { guardedFolder } from '../../../stack/folder.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const MODEL = here('../../../../api/fraud/models/process/model.ts')
const SHIPPED = here('../../../../schemas/fraud/models/shipped')

test('a process that loads a model stores no file by which telemetry of the model runtime could identify the machine', async () => {
  const home = guardedFolder().path
  const manifest = join(SHIPPED, readdirSync(SHIPPED).find((name) => name.endsWith('.json'))!)
  const program = `
    const { loadModel } = await import(${JSON.stringify(MODEL)})
    console.log((await loadModel(${JSON.stringify(manifest)})).manifest.name)`
  // The runtime also turns telemetry off if it finds the variables of a CI system, so the process inherits none.
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { env: { HOME: home } })
  expect(stdout.trim()).not.toBe('')
  expect(readdirSync(home, { recursive: true })).toEqual([])
})
