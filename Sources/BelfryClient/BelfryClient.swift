// As CloudKit does: a file that imports it has Foundation too.
@_exported import Foundation
