import Glibc
import Synchronization

/// The current keys of a gateway. ``currentReading()`` checks the file's stamp, so a change takes effect with the next
/// request.
final class AccessKeyMonitor: Sendable {
    enum Reading: Sendable {
        /// The gateway has no key file, or has not found the file yet.
        case open
        case keys(AccessKeys)
        /// The file cannot be used. Every request is refused until the file can be used.
        case failed(AccessKeyError)

        var problem: AccessKeyError? {
            if case .failed(let error) = self { error } else { nil }
        }
    }

    private struct State {
        var stamp: FileStamp?
        var reading = Reading.open

        /// Reads the file if its stamp has changed, or if its status cannot be read.
        ///
        /// If the contents or permissions are wrong, keeps the error with the file's stamp, so that later requests do
        /// not read the same file again. If a system call fails, the next request reads the file again, because the
        /// cause may be gone by then.
        mutating func update(_ file: AccessKeyFile) {
            var status = stat()
            let stamp = stat(file.path, &status) == 0 ? FileStamp(status) : nil
            if case .open = reading, stamp == nil, errno == ENOENT { return }
            guard stamp == nil || stamp != self.stamp else { return }
            do throws(AccessKeyError) {
                if let loaded = try file.load() {
                    (reading, self.stamp) = (.keys(loaded.keys), loaded.stamp)
                } else if case .open = reading {
                    self.stamp = nil
                } else {
                    // Removing the key file must not open the gateway.
                    (reading, self.stamp) = (.failed(.missing(file.path)), nil)
                }
            } catch {
                reading = .failed(error)
                if case .failed = error { self.stamp = nil } else { self.stamp = stamp }
            }
        }
    }

    private let file: AccessKeyFile?
    private let report: @Sendable (AccessKeyError) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: Nil if the gateway has no keys and never gets any.
    ///   - report: Called when a problem with the file begins, and when it changes into another problem.
    init(_ file: AccessKeyFile?, report: @escaping @Sendable (AccessKeyError) -> Void) {
        (self.file, self.report) = (file, report)
        state = Mutex(State())
    }

    /// The result of the last reading. Reads the file first if its stamp has changed, or if its status cannot be read.
    func currentReading() -> Reading {
        guard let file else { return .open }
        let (reading, problem) = state.withLock { state in
            let known = state.reading.problem
            state.update(file)
            return (state.reading, state.reading.problem == known ? nil : state.reading.problem)
        }
        if let problem { report(problem) }
        return reading
    }
}
