import { Cluster, type ClusterOptions, type RedisOptions } from 'ioredis'

/**
 * Connects to a Redis Cluster. The user, the password and the TLS of the URL apply to all nodes. By itself, ioredis
 * would apply them only to the node that the URL names, and the other nodes would refuse its commands.
 * @param url address of any node
 */
export function connectCluster(url: string, options: ClusterOptions): Cluster {
  return new Cluster([url], { ...options, redisOptions: { ...options.redisOptions, ...credentialsOf(new URL(url)) } })
}

function credentialsOf({ protocol, username, password }: URL): RedisOptions {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  }
}
