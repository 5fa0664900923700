/** A thread that sends hostile inputs, so that building and sending them does not count as time of the service. */
import { parentPort, workerData } from 'node:worker_threads'
import { WebSocket } from 'ws'
import { hostileInputs } from './hostile-inputs.ts'

const { url, key, seed, network } = workerData as { url: string; key: string; seed: number; network: string }
const inputs = hostileInputs(seed, network)

async function send(name: string): Promise<string> {
  const input = inputs[name]
  if (input === undefined) throw new Error(`no input ${name}`)
  if (input.kind === 'message') return sendMessage(input.text)
  const response = await fetch(`${url}${input.path}`, {
    method: input.body === undefined ? 'GET' : 'POST',
    headers: {
      'X-API-Key': key,
      ...(input.body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...input.headers,
    },
    ...(input.body === undefined ? {} : { body: input.body }),
  })
  const text = await response.text()
  return `${response.status} ${text.length} ${text.slice(0, 200)}`
}

async function sendMessage(text: string): Promise<string> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws?api_key=${key}`)
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.on('error', reject)
      socket.on('close', (code) => resolve(`closed ${code}`))
      socket.on('message', (data) => {
        const frame = JSON.parse(String(data)) as { type: string }
        if (frame.type === 'welcome') socket.send(text)
        else if (frame.type !== 'subscribed') resolve(`${frame.type} ${String(data).length}`)
      })
    })
  } finally {
    socket.terminate()
  }
}

parentPort?.on('message', (name: string) => {
  send(name).then(
    (outcome) => parentPort?.postMessage({ outcome }),
    (error) => parentPort?.postMessage({ outcome: `failed: ${error}` }),
  )
})
