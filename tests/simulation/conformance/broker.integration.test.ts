import { expect, onTestFinished, test } from 'vitest'
import { Connection } from '../../../kafka/client/protocol.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { silent } from '../../kafka/client/harness.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../stack/index.ts'
import { CASES } from './cases.ts'
import { Wire } from './wire.ts'

const stack = testStack()

test.each(CASES)('a real broker: $name', AT_FIRST_TRY, async ({ run, answers }) => {
  const [host, port] = (await stack.kafka()).split(':')
  const connection = new Connection('conformance', {})
  onTestFinished(() => connection.close())
  await connection.connect(host, Number(port))
  expect(await run(new Wire(connection, systemRuntime(silent), uniqueName))).toEqual(answers)
})
