// A file that imports this module gets Foundation too, as with CloudKit.
@_exported import Foundation
