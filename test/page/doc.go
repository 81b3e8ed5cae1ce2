// Package page opens pages of plans and of trainings in Chromium, which draws them without a window.
package page
