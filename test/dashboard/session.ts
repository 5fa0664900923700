/** The dashboard's API without a browser: a cookie jar of one cookie and the CSRF token. */
import assert from 'node:assert/strict'

export interface ApiAnswer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  json: any
}

export class Session {
  readonly url: string
  cookie = ''
  csrf = ''

  constructor(url: string) {
    this.url = url
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer> {
    const response = await fetch(`${this.url}/dashboard/api/${path}`, {
      method,
      headers: {
        ...(this.cookie === '' ? {} : { cookie: this.cookie }),
        ...(this.csrf === '' ? {} : { 'X-CSRF-Token': this.csrf }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const set = response.headers.get('set-cookie')
    if (set !== null) this.cookie = set.split(';')[0] ?? ''
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      json = undefined
    }
    return { status: response.status, headers: response.headers, text, json }
  }

  /** A call whose answer brings the token of the session. */
  async enter(path: string, body?: unknown): Promise<ApiAnswer> {
    const answer = await this.call(body === undefined ? 'GET' : 'POST', path, body)
    if (answer.json?.csrf !== undefined) this.csrf = answer.json.csrf
    return answer
  }
}

export const PASSWORD = 'correct horse battery'

export async function visit(url: string): Promise<Session> {
  const session = new Session(url)
  assert.equal((await session.enter('session')).status, 200)
  return session
}

export async function signedUp(url: string, email: string): Promise<Session> {
  const session = await visit(url)
  const answer = await session.enter('sign-up', { email, password: PASSWORD })
  assert.equal(answer.status, 200, answer.text)
  return session
}

export async function operator(url: string, token: string): Promise<Session> {
  const session = await visit(url)
  const answer = await session.enter('welcome', { token, email: 'op@example.com', password: PASSWORD })
  assert.equal(answer.status, 200, answer.text)
  return session
}

export const NEW_KEY = {
  name: 'a key',
  environment: 'test',
  scopes: null,
  expires_at: null,
  allowed_cidrs: null,
  credit_cap: null,
}
