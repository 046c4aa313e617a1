import Glibc
import Synchronization

/// The present keys of a gateway. Each use checks the file's stamp, so a change takes effect with the next request.
final class AccessKeyMonitor: Sendable {
    enum Reading: Sendable {
        /// There has been no key file since the gateway started.
        case open
        case keys(AccessKeys)
        /// The file cannot be used. Everyone is refused until it can.
        case failed(AccessKeyError)
    }

    private struct State {
        var stamp: FileStamp?
        var reading = Reading.open

        /// A failure is kept under the stamp that led to it, so that a broken file is not read for each request.
        mutating func update(_ file: AccessKeyFile, _ stamp: FileStamp?) {
            do throws(AccessKeyError) {
                if let loaded = try file.load() {
                    (reading, self.stamp) = (.keys(loaded.keys), loaded.stamp)
                } else if case .open = reading {
                    self.stamp = nil
                } else {
                    // Removing the key file must not open the gateway.
                    (reading, self.stamp) = (.failed(.missing(file.path)), nil)
                }
            } catch { (reading, self.stamp) = (.failed(error), stamp) }
        }
    }

    private let file: AccessKeyFile?
    private let state: Mutex<State>

    /// - Parameter file: Nil: no keys, ever.
    init(_ file: AccessKeyFile?) {
        self.file = file
        state = Mutex(State())
    }

    /// Reads the file if it has changed since the last call.
    var reading: Reading {
        guard let file else { return .open }
        return state.withLock { state in
            let stamp = AccessKeyMonitor.stamp(of: file.path)
            if stamp == nil || stamp != state.stamp { state.update(file, stamp) }
            return state.reading
        }
    }

    /// Nil if there is no file, or its status cannot be read.
    private static func stamp(of path: String) -> FileStamp? {
        var status = stat()
        return stat(path, &status) == 0 ? FileStamp(status) : nil
    }
}
