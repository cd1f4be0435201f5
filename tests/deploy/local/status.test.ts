import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { lockHome, openHome } from '../../../deploy/local/home.ts'
import { writeRunFile } from '../../../deploy/local/run-file.ts'
import { guardedFolder } from '../../stack/folder.ts'

const STATUS = join(import.meta.dirname, '../../../deploy/local/status.ts')

test('while a start is running, the status does not show the parts of an earlier start that was killed', async () => {
  const home = openHome(join(guardedFolder().path, 'home'))
  writeRunFile(home, { pid: process.pid + 1, startedAt: new Date(0).toISOString(), parts: [] })
  onTestFinished(lockHome(home))
  const env = { ...process.env, MILLRACE_HOME: home.path }
  await expect(promisify(execFile)(process.execPath, [STATUS], { env })).rejects.toMatchObject({
    code: 1,
    stdout: `npm start (pid ${process.pid}) has not finished starting yet.\n`,
  })
})
