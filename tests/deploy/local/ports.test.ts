import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { freePort, LOOPBACK } from '../../../deploy/local/ports.ts'

const ANOTHER_PROCESS_COUNT = 60

test('no port is returned twice, even if no server listens on the port yet', async () => {
  const ports = await Promise.all(Array.from({ length: 210 }, () => freePort()))
  expect(new Set(ports).size).toBe(210)
})

test('a port that another process has chosen is not returned, even if no server listens on the port yet', async () => {
  const random = () => 0.5
  const here = await Promise.all(Array.from({ length: ANOTHER_PROCESS_COUNT }, () => freePort(random)))
  // A second instance of the module has its own memory, as in another process.
  vi.resetModules()
  const other = await import('../../../deploy/local/ports.ts')
  const there = await Promise.all(Array.from({ length: ANOTHER_PROCESS_COUNT }, () => other.freePort(random)))
  expect(here.filter((port) => there.includes(port))).toEqual([])
})

test('a port on which a server listens is not returned', async () => {
  const next = (await freePort()) + 1
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(next, LOOPBACK, resolve))
  expect(await freePort()).not.toBe(next)
  server.close()
})

test('a port that only root may use is reported as forbidden, not as in use', ({ skip }) => {
  const port = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) - 1
  skip(port < 1, 'any user may use all ports of this machine')
  const script = `
    const { portObstacle } = await import(process.argv[1])
    if (process.getuid() === 0) process.setuid(65534)
    process.stdout.write(String(await portObstacle(${port})))`
  const ports = join(import.meta.dirname, '../../../deploy/local/ports.ts')
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', script, ports], { encoding: 'utf8' })).toBe('forbidden')
})
