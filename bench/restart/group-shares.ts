import { Admin, Connection, consumerGroupDescribeV0 } from '@platformatic/kafka'

const CLIENT_ID = 'bench'

/**
 * @returns the number of members of a KIP-848 group that have partitions
 * @param broker host:port of the only broker
 */
export async function workingConsumers(broker: string, group: string): Promise<number> {
  const connection = new Connection(CLIENT_ID)
  const [host, port] = broker.split(':')
  try {
    await connection.connect(host, Number(port))
    const { groups } = await consumerGroupDescribeV0.api.async(connection, [group], false)
    return groups.flatMap(({ members }) => members).filter(({ assignment }) => assignment.topicPartitions.length > 0).length
  } finally {
    await connection.close()
  }
}

/** Returns the number of members of a group of the classic protocol that have partitions. */
export async function workingClassicMembers(brokers: string, group: string): Promise<number> {
  const admin = new Admin({ clientId: CLIENT_ID, bootstrapBrokers: brokers.split(',') })
  try {
    const members = (await admin.describeGroups({ groups: [group] })).get(group)?.members.values() ?? []
    return [...members].filter(({ assignments }) => assignments !== undefined && assignments.size > 0).length
  } finally {
    await admin.close()
  }
}
