import { existsSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inFolder, ownStack, withStarted } from '../../../bench/harness/folder.ts'

test('if the benchmark fails, the stack is stopped and the folder is deleted', async () => {
  const stopped: string[] = []
  const start = async (folder: string) => ({ stop: async () => void stopped.push(folder) })
  let folder = ''
  const failing = withStarted(start, async (_, own) => {
    folder = own
    writeFileSync(join(own, 'data'), 'x')
    throw new Error('no figures')
  })
  await expect(failing).rejects.toThrow('no figures')
  expect(stopped).toEqual([folder])
  expect(existsSync(folder)).toBe(false)
})

test('if the stack does not start, the folder is deleted', async () => {
  let folder = ''
  const start = async (own: string): Promise<{ stop(): Promise<void> }> => {
    folder = own
    throw new Error('no broker')
  }
  await expect(withStarted(start, async () => undefined)).rejects.toThrow('no broker')
  expect(existsSync(folder)).toBe(false)
})

test('a private stack has its own folder and ports, and uses the installed tools', async () => {
  await inFolder(async (folder) => {
    const [one, other] = [await ownStack(join(folder, 'one')), await ownStack(join(folder, 'other'))]
    expect(one.MILLRACE_HOME).toBe(join(folder, 'one'))
    const ports = [one, other].map((env) => Object.entries(env).flatMap(([name, port]) => (name.endsWith('_PORT') ? port : [])))
    expect(ports[0].length).toBeGreaterThan(5)
    expect(new Set(ports.flat()).size).toBe(2 * ports[0].length)
    expect(Object.keys(other)).toEqual(Object.keys(one))
    expect(statSync(readlinkSync(join(folder, 'one', 'tools'))).isDirectory()).toBe(true)
  })
})
