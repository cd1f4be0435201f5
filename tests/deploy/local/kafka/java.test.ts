import { expect, test } from 'vitest'
import { brokerCommand } from '../../../../deploy/local/kafka/java.ts'

test("a broker's temporary files go to its data folder, where they are found even if it is killed", () => {
  const { args } = brokerCommand({ jars: '/jars', properties: '/data/server.properties', logFile: '/log', heapMb: 64 })
  expect(args).toContain('-Djava.io.tmpdir=/data')
})
