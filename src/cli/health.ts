import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { CommandError, type CommandForm } from './command.ts'

export const HEALTH_COMMAND: CommandForm = {
  name: 'health',
  about: 'Asks the running service whether it answers; for health checks of containers.',
  options: {
    ready: { about: 'Asks whether every part works, venues and nodes included.', isFlag: true },
  },
}

const ANSWER_WITHIN_MS = 8_000
const MAX_SHOWN_CHARS = 500

/**
 * Throws a CommandError that says what is wrong. A process that answers is healthy: a stale venue is no reason to
 * restart it or to stop sending it requests.
 */
export async function checkHealth(serviceUrl: string, isReadyAsked: boolean): Promise<string> {
  const [path, state] = isReadyAsked ? ['/ready', 'ready'] : ['/health', 'healthy']
  const { status, text } = await ask(new URL(path, serviceUrl))
  if (status !== 200)
    throw new CommandError(`${serviceUrl} is not ${state}: ${text.slice(0, MAX_SHOWN_CHARS)}`)
  return `${serviceUrl} is ${state}.`
}

function ask(url: URL): Promise<{ status: number; text: string }> {
  const request = url.protocol === 'https:' ? requestSecure : requestPlain
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(new CommandError(`${url.origin} does not answer: ${error.message}`))
    // The certificate is for the public name, so on this machine it proves nothing.
    const asked = request(url, { signal, rejectUnauthorized: false, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        if (text.length < MAX_SHOWN_CHARS) text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', fail)
    })
    asked.on('error', fail)
    asked.end()
  })
}
