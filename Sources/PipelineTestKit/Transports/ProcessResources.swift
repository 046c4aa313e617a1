import Foundation

/// The threads and open files of this process.
struct ProcessResources {
    private let threads = ProcessResources.count("task")
    private let files = ProcessResources.count("fd")

    /// The resource that exceeds another measurement by more than the allowance; nil if there is none.
    func exceeds(_ other: ProcessResources, by allowance: Int) -> String? {
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
