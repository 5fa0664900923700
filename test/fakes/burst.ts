/** Many requests at once over keep-alive connections; counts the answers by status. */
import { Agent, request } from 'node:http'

export interface Burst {
  readonly statuses: Map<number, number>
  /** Requests that got no answer because the connection broke. */
  readonly broken: number
}

export interface BurstOptions {
  urls: readonly string[]
  key: string
  count: number
  connections: number
}

export async function burst(options: BurstOptions): Promise<Burst> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections })
  const statuses = new Map<number, number>()
  let broken = 0
  const one = async (index: number) => {
    const status = await send(options.urls[index % options.urls.length] ?? '', options.key, agent)
    if (status === 0) broken++
    else statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  await Promise.all(Array.from({ length: options.count }, (_, index) => one(index)))
  agent.destroy()
  return { statuses, broken }
}

function send(url: string, key: string, agent: Agent): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, headers: { 'X-API-Key': key } }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve(0))
      response.on('aborted', () => resolve(0))
    })
    sent.on('error', () => resolve(0))
    sent.end()
  })
}
