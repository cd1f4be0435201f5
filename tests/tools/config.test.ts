import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeRunFile } from '../../deploy/local/run-file.ts'
import { apiTarget, streamTarget } from '../../tools/config.ts'
import { readDlqConfig } from '../../tools/dlq/config.ts'

test('addresses from the environment take precedence over the running stack, and an empty variable counts as unset', () => {
  const home = mkdtempSync(join(tmpdir(), 'millrace-tools-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const run = join(home, 'run')
  mkdirSync(run)
  const part = (kind: 'kafka' | 'registry' | 'api', address: string) => ({ name: kind, kind, address, logFile: undefined })
  const parts = [part('kafka', 'running:9092'), part('registry', 'http://running:8081'), part('api', 'http://running:8080')]
  writeRunFile({ run } as Parameters<typeof writeRunFile>[0], { pid: 1, startedAt: '', parts })

  const given = { MILLRACE_HOME: home, KAFKA_BROKERS: 'a:1, b:2,', SCHEMA_REGISTRY_URL: 'http://given', API_URL: 'http://given/' }
  expect(streamTarget(given)).toEqual({ brokers: ['a:1', 'b:2'], registryUrl: 'http://given' })
  expect(readDlqConfig(given)).toMatchObject({ brokers: ['a:1', 'b:2'], schemaRegistryUrl: 'http://given' })
  expect(apiTarget(given)).toBe('http://given')
  const empty = { MILLRACE_HOME: home, KAFKA_BROKERS: '', SCHEMA_REGISTRY_URL: '', API_URL: '' }
  expect(streamTarget(empty)).toEqual({ brokers: ['running:9092'], registryUrl: 'http://running:8081' })
  expect(readDlqConfig(empty)).toMatchObject({ brokers: ['running:9092'], schemaRegistryUrl: 'http://running:8081' })
  expect(apiTarget(empty)).toBe('http://running:8080')
})
