import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { javaPackage } from '../../../scripts/setup/programs.mjs'

test('the newest Java that Debian offers is chosen, even if apt-cache would translate its output', () => {
  const bin = mkdtempSync(join(tmpdir(), 'millrace-apt-'))
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(bin, { recursive: true })
  })
  const aptCache = join(bin, 'apt-cache')
  writeFileSync(
    aptCache,
    '#!/bin/sh\n[ "$2" = openjdk-21-jre-headless ] || exit 0\n[ "$LC_ALL" = C ] && echo "  Candidate: 21.0.1" || echo "  Installationskandidat: 21.0.1"\n',
  )
  chmodSync(aptCache, 0o755)
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env.PATH}`)
  vi.stubEnv('LC_ALL', 'de_DE.UTF-8')
  expect(javaPackage()).toBe('openjdk-21-jre-headless')
})
