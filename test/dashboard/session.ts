/** The dashboard's API without a browser: a cookie jar of one cookie and the CSRF token. */
import assert from 'node:assert/strict'
import type { CreatedKeyView, SessionView } from '../../src/dashboard/wire.ts'

/** An answer read as what the caller expects of it; a refusal unless it says otherwise. */
export interface ApiAnswer<T = Refusal> {
  status: number
  headers: Headers
  text: string
  json: T
}

export interface Refusal {
  error: string
  message: string
}

export class Session {
  readonly url: string
  cookie = ''
  csrf = ''

  constructor(url: string) {
    this.url = url
  }

  async call<T = Refusal>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer<T>> {
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
    return { status: response.status, headers: response.headers, text, json: json as T }
  }

  /** A call whose answer brings the token of the session. */
  async enter(path: string, body?: unknown): Promise<ApiAnswer<SessionView>> {
    const answer = await this.call<SessionView>(body === undefined ? 'GET' : 'POST', path, body)
    if (answer.json?.csrf !== undefined) this.csrf = answer.json.csrf
    return answer
  }

  async accountId(): Promise<string> {
    const { json } = await this.call<SessionView>('GET', 'session')
    assert.ok(json.account)
    return json.account.id
  }

  async createKey(): Promise<CreatedKeyView> {
    const answer = await this.call<CreatedKeyView>('POST', 'keys', NEW_KEY)
    assert.equal(answer.status, 201, answer.text)
    return answer.json
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

const NEW_KEY = {
  name: 'a key',
  environment: 'test',
  scopes: null,
  expires_at: null,
  allowed_cidrs: null,
  credit_cap: null,
}
