// Like CloudKit, so that a file that imports BelfryClient also has Foundation.
@_exported import Foundation
