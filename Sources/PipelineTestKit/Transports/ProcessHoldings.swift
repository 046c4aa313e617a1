import Foundation

/// What this process holds of the system.
struct ProcessHoldings {
    private let threads = ProcessHoldings.count("task")
    private let files = ProcessHoldings.count("fd")

    /// What is more by that many; nil where nothing is.
    func exceeds(_ other: ProcessHoldings, by allowance: Int) -> String? {
        if threads > other.threads + allowance { return "\(threads - other.threads) more threads" }
        if files > other.files + allowance { return "\(files - other.files) more open files" }
        return nil
    }

    // Linux, proc(5). Elsewhere nothing is counted.
    private static func count(_ folder: String) -> Int {
        do { return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count } catch {
            return 0
        }
    }
}
