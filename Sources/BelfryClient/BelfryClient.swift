// A file that imports BelfryClient also has Foundation, as a file that imports CloudKit does.
@_exported import Foundation
