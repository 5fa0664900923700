import { render } from 'preact'
import '../style.css'
import './docs.css'
import { applyTheme } from '../theme.ts'
import type { OpenApi } from './document.ts'
import { Reference } from './reference.tsx'

applyTheme()
const root = document.getElementById('app')
const response = await fetch('/openapi.json')
if (root !== null && response.ok) {
  render(<Reference document={(await response.json()) as OpenApi} />, root)
  performance.mark('shown')
} else if (root !== null) root.textContent = 'The document cannot be read at the moment. Load the page again.'
